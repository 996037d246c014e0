//! Only users with the right to get the nonResourceURL `/metrics` read the metrics, and no client does while the API server
//! does not say who has it.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::start;
use test_support::cluster::{
    anonymous_client, client, create_namespace, delete_namespace, kubeconfig, until,
};
use test_support::operator::Operator;
use test_support::proxy::{Proxy, ProxyOptions};

/// Creates the service account `name` and returns a token for it.
async fn token(client: &Client, namespace: &str, name: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let response = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await;
    response.unwrap().status.unwrap().token
}

/// Permits the service account `reader` to get the metrics, by the rule of the chart's ClusterRole.
async fn permit(client: &Client, namespace: &str) {
    let role = json!({"metadata": {"name": namespace}, "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]});
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let role = serde_json::from_value(role).unwrap();
    roles.create(&PostParams::default(), &role).await.unwrap();
    let binding = json!({
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    });
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let binding = serde_json::from_value(binding).unwrap();
    bindings.create(&PostParams::default(), &binding).await.unwrap();
}

/// Deletes what [`permit`] created.
async fn forbid(client: &Client, namespace: &str) {
    let params = DeleteParams::default();
    Api::<ClusterRoleBinding>::all(client.clone())
        .delete(namespace, &params)
        .await
        .unwrap();
    Api::<ClusterRole>::all(client.clone())
        .delete(namespace, &params)
        .await
        .unwrap();
}

/// Returns the status code and the text of the response to a request for `path`.
async fn response(operator: &Operator, path: &str, token: Option<&str>) -> Option<(u16, String)> {
    let response = operator.get_beside_tasks(path, token).await?;
    let code = response.split_whitespace().nth(1)?.parse().ok()?;
    Some((code, response))
}

#[tokio::test]
async fn metrics_need_the_readers_own_right() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let reader = token(&client, &namespace, "reader").await;
    let other = token(&client, &namespace, "other").await;
    permit(&client, &namespace).await;
    let operator = start::with_arguments(
        &kubeconfig(),
        &namespace,
        &["--no-leader-election", "--metrics-readers=authorized"],
    );
    operator.ready().await;
    // A refusal is kept for 10 s, and the API server may still learn of the binding.
    let (code, text) = until(|| async {
        response(&operator, "/metrics", Some(&reader))
            .await
            .filter(|(code, _)| *code == 200)
    })
    .await;
    assert!(code == 200 && text.contains("\nfabricbench_leading 1"), "{text}");
    for (token, expected) in [(None, 401), (Some("invented"), 401), (Some(other.as_str()), 403)] {
        let (code, text) = response(&operator, "/metrics", token).await.unwrap();
        assert_eq!(code, expected, "{token:?}: {text}");
        assert!(!text.contains("fabricbench_leading"), "{text}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(response(&operator, path, None).await.unwrap().0, 200, "{path}");
    }
    drop(operator);
    forbid(&client, &namespace).await;
    delete_namespace(&client, &namespace).await;
}

#[tokio::test]
async fn metrics_stay_closed_if_the_operator_may_not_ask() {
    let client = client().await;
    let namespace = create_namespace(&client).await;
    let reader = token(&client, &namespace, "reader").await;
    permit(&client, &namespace).await;
    // This operator has the permissions of an account without any.
    let powerless = ProxyOptions {
        token: Some(token(&client, &namespace, "powerless").await),
        ..ProxyOptions::default()
    };
    let proxy = Proxy::with_options(&anonymous_client().await, powerless).await;
    let operator = start::with_arguments(
        &proxy.kubeconfig,
        &namespace,
        &["--no-leader-election", "--metrics-readers=authorized"],
    );
    until(|| async {
        let (code, text) = response(&operator, "/metrics", Some(&reader)).await?;
        assert_eq!(code, 503, "{text}");
        text.contains("cannot create resource \"tokenreviews\"")
            .then_some(())
    })
    .await;
    assert_eq!(response(&operator, "/healthz", None).await.unwrap().0, 200);
    drop((operator, proxy));
    forbid(&client, &namespace).await;
    delete_namespace(&client, &namespace).await;
}
