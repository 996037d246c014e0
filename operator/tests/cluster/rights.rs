//! The rights that a manifest of `operator/deploy` gives the operator, and accounts that have these or fewer.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cluster::{root, until};

/// Name of the account, in its namespace.
const ACCOUNT: &str = "operator";

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    pub group: String,
    pub resource: String,
    pub verb: String,
    /// On objects of these names alone; on all where there is none.
    pub names: Vec<String>,
    /// In every namespace, or in the operator's own.
    pub everywhere: bool,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// All rights that the Roles and ClusterRoles of `operator/deploy/<name>.yaml` give.
pub fn of_manifest(name: &str) -> BTreeSet<Right> {
    let text = std::fs::read_to_string(root().join(format!("operator/deploy/{name}.yaml"))).unwrap();
    let mut rights = BTreeSet::new();
    for document in serde_yaml::Deserializer::from_str(&text) {
        let object = Value::deserialize(document).unwrap();
        let everywhere = match object["kind"].as_str().unwrap() {
            "ClusterRole" => true,
            "Role" => false,
            _ => continue,
        };
        for rule in object["rules"].as_array().unwrap() {
            let all =
                |key: &str| serde_json::from_value::<Vec<String>>(rule[key].clone()).unwrap_or_default();
            let names = all("resourceNames");
            for (group, resource, verb) in combined(&all("apiGroups"), &all("resources"), &all("verbs")) {
                let names = names.clone();
                rights.insert(Right {
                    group,
                    resource,
                    verb,
                    names,
                    everywhere,
                });
            }
        }
    }
    rights
}

/// Every one with every other.
fn combined(groups: &[String], resources: &[String], verbs: &[String]) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for group in groups {
        for resource in resources {
            all.extend(
                verbs
                    .iter()
                    .map(|verb| (group.clone(), resource.clone(), verb.clone())),
            );
        }
    }
    all
}

/// An account in a namespace, with its rights.
pub struct Account {
    client: Client,
    namespace: String,
    pub token: String,
}

impl Account {
    /// With exactly these rights, which the API server knows of.
    pub async fn with(client: &Client, namespace: &str, rights: &BTreeSet<Right>) -> Self {
        let (here, everywhere) = (Some(namespace), None);
        let account = json!({"metadata": {"name": ACCOUNT}});
        create::<ServiceAccount>(&Api::namespaced(client.clone(), namespace), account).await;
        let rules = |wide: bool| {
            rights
                .iter()
                .filter(|right| right.everywhere == wide)
                .map(rule)
                .collect::<Vec<_>>()
        };
        let role = json!({"metadata": {"name": ACCOUNT}, "rules": rules(false)});
        create::<Role>(&Api::namespaced(client.clone(), namespace), role).await;
        let bound = binding("Role", ACCOUNT, namespace);
        create::<RoleBinding>(&Api::namespaced(client.clone(), namespace), bound).await;
        let role = json!({"metadata": {"name": namespace}, "rules": rules(true)});
        create::<ClusterRole>(&Api::all(client.clone()), role).await;
        create::<ClusterRoleBinding>(
            &Api::all(client.clone()),
            binding("ClusterRole", namespace, namespace),
        )
        .await;
        for right in rights {
            let namespace = if right.everywhere { everywhere } else { here };
            until(|| async {
                is_allowed(client, here.unwrap(), namespace, right)
                    .await
                    .then_some(())
            })
            .await;
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let wanted: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
        let given = accounts
            .create_token_request(ACCOUNT, &PostParams::default(), &wanted)
            .await
            .unwrap();
        Self {
            client: client.clone(),
            namespace: namespace.to_owned(),
            token: given.status.unwrap().token,
        }
    }

    /// Takes away what does not go with the namespace.
    pub async fn revoke(self) {
        let params = DeleteParams::default();
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        bindings.delete(&self.namespace, &params).await.unwrap();
        let roles: Api<ClusterRole> = Api::all(self.client);
        roles.delete(&self.namespace, &params).await.unwrap();
    }
}

fn rule(right: &Right) -> Value {
    json!({
        "apiGroups": [right.group], "resources": [right.resource], "verbs": [right.verb],
        "resourceNames": right.names,
    })
}

fn binding(kind: &str, role: &str, namespace: &str) -> Value {
    json!({
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}],
    })
}

async fn create<K>(api: &Api<K>, object: Value)
where
    K: kube::Resource + Clone + DeserializeOwned + serde::Serialize + fmt::Debug,
{
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Whether the API server lets the account of `of` do it in `namespace`, or in all.
async fn is_allowed(client: &Client, of: &str, namespace: Option<&str>, right: &Right) -> bool {
    let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
    let asked = json!({"metadata": {}, "spec": {
        "user": format!("system:serviceaccount:{of}:{ACCOUNT}"),
        "resourceAttributes": {
            "group": right.group, "resource": resource, "subresource": subresource, "verb": right.verb,
            "name": right.names.first(), "namespace": namespace,
        },
    }});
    let asked: SubjectAccessReview = serde_json::from_value(asked).unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answered = reviews.create(&PostParams::default(), &asked).await.unwrap();
    answered.status.is_some_and(|status| status.allowed)
}
