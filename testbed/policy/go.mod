// The testbed's enforcer of NetworkPolicies: see main.go.
module fabricbench.dev/testbed/policy

go 1.25.0

require (
	k8s.io/api v0.34.4
	k8s.io/apimachinery v0.34.4
	k8s.io/client-go v0.34.4
)
