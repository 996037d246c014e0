// The program that the testbed's own tests run in pods: see main.go.
module fabricbench.dev/testbed/tests/probe

go 1.25.0
