//! Permissions that the manifests in `operator/deploy` grant to the operator, and service accounts with all or some of
//! these permissions.

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

use test_support::cluster::{root, until};

/// Name of the service account in each test's namespace.
const ACCOUNT: &str = "operator";

/// Permission for one verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    pub group: String,
    pub resource: String,
    pub verb: String,
    /// Object names; empty for all objects.
    pub names: Vec<String>,
    /// Whether the permission applies to all namespaces or only to the operator's namespace.
    pub cluster_wide: bool,
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// Returns all permissions in the Roles and ClusterRoles in `operator/deploy/<name>.yaml`.
pub fn permissions_of(name: &str) -> BTreeSet<Permission> {
    let text = std::fs::read_to_string(root().join(format!("operator/deploy/{name}.yaml"))).unwrap();
    let mut permissions = BTreeSet::new();
    for document in serde_yaml::Deserializer::from_str(&text) {
        let object = Value::deserialize(document).unwrap();
        let cluster_wide = match object["kind"].as_str().unwrap() {
            "ClusterRole" => true,
            "Role" => false,
            _ => continue,
        };
        for rule in object["rules"].as_array().unwrap() {
            let strings =
                |key: &str| serde_json::from_value::<Vec<String>>(rule[key].clone()).unwrap_or_default();
            let names = strings("resourceNames");
            for (group, resource, verb) in
                combinations(&strings("apiGroups"), &strings("resources"), &strings("verbs"))
            {
                let names = names.clone();
                permissions.insert(Permission {
                    group,
                    resource,
                    verb,
                    names,
                    cluster_wide,
                });
            }
        }
    }
    permissions
}

/// Returns the Cartesian product of the three lists.
fn combinations(groups: &[String], resources: &[String], verbs: &[String]) -> Vec<(String, String, String)> {
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

/// A service account with its permissions and token.
pub struct ServiceAccountUser {
    client: Client,
    namespace: String,
    pub token: String,
}

impl ServiceAccountUser {
    /// Creates a service account with exactly `permissions` and waits until the API server grants them.
    pub async fn new(client: &Client, namespace: &str, permissions: &BTreeSet<Permission>) -> Self {
        let account = json!({"metadata": {"name": ACCOUNT}});
        create::<ServiceAccount>(&Api::namespaced(client.clone(), namespace), account).await;
        let rules = |cluster_wide: bool| {
            permissions
                .iter()
                .filter(|permission| permission.cluster_wide == cluster_wide)
                .map(rule)
                .collect::<Vec<_>>()
        };
        let role = json!({"metadata": {"name": ACCOUNT}, "rules": rules(false)});
        create::<Role>(&Api::namespaced(client.clone(), namespace), role).await;
        let role_binding = binding("Role", ACCOUNT, namespace);
        create::<RoleBinding>(&Api::namespaced(client.clone(), namespace), role_binding).await;
        let role = json!({"metadata": {"name": namespace}, "rules": rules(true)});
        create::<ClusterRole>(&Api::all(client.clone()), role).await;
        create::<ClusterRoleBinding>(
            &Api::all(client.clone()),
            binding("ClusterRole", namespace, namespace),
        )
        .await;
        for permission in permissions {
            let scope = (!permission.cluster_wide).then_some(namespace);
            until(|| async {
                is_allowed(client, namespace, scope, permission)
                    .await
                    .then_some(())
            })
            .await;
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
        let response = accounts
            .create_token_request(ACCOUNT, &PostParams::default(), &request)
            .await
            .unwrap();
        Self {
            client: client.clone(),
            namespace: namespace.to_owned(),
            token: response.status.unwrap().token,
        }
    }

    /// Deletes the cluster-scoped objects, which are not deleted with the namespace.
    pub async fn revoke(self) {
        let params = DeleteParams::default();
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        bindings.delete(&self.namespace, &params).await.unwrap();
        let roles: Api<ClusterRole> = Api::all(self.client);
        roles.delete(&self.namespace, &params).await.unwrap();
    }
}

fn rule(permission: &Permission) -> Value {
    json!({
        "apiGroups": [permission.group], "resources": [permission.resource], "verbs": [permission.verb],
        "resourceNames": permission.names,
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

/// Whether the service account in `account_namespace` has `permission` in `namespace`, or in all namespaces if
/// `namespace` is `None`.
async fn is_allowed(
    client: &Client,
    account_namespace: &str,
    namespace: Option<&str>,
    permission: &Permission,
) -> bool {
    let (resource, subresource) = permission
        .resource
        .split_once('/')
        .unwrap_or((&permission.resource, ""));
    let review = json!({"metadata": {}, "spec": {
        "user": format!("system:serviceaccount:{account_namespace}:{ACCOUNT}"),
        "resourceAttributes": {
            "group": permission.group, "resource": resource, "subresource": subresource, "verb": permission.verb,
            "name": permission.names.first(), "namespace": namespace,
        },
    }});
    let review: SubjectAccessReview = serde_json::from_value(review).unwrap();
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let response = reviews.create(&PostParams::default(), &review).await.unwrap();
    response.status.is_some_and(|status| status.allowed)
}
