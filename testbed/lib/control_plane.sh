# shellcheck shell=bash
# For a cluster and for `api-only`: etcd, the API server, and the forwarder that makes it available to clients on
# 127.0.0.1. For a cluster only: the controller manager and the scheduler.

api_up() {
    local certificates=$SITE/certificates
    certificates_up
    process_start etcd "$SITE_NETNS" "$(tool etcd etcd)" --data-dir "$SITE/etcd" --log-level warn \
        --unsafe-no-fsync --listen-peer-urls http://127.0.0.1:2380
    await_process etcd 120 "etcd" etcd_serves
    process_start kube-apiserver "$SITE_NETNS" "$(kubernetes kube-apiserver)" \
        --etcd-servers=http://127.0.0.1:2379 \
        --bind-address=0.0.0.0 --secure-port=6443 --advertise-address="$CONTROL_ADDRESS" \
        --service-cluster-ip-range="$SERVICE_RANGE" --allow-privileged=true \
        --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
        --enable-aggregator-routing=true --profiling=false \
        --client-ca-file="$certificates/ca.crt" \
        --tls-cert-file="$certificates/apiserver.crt" --tls-private-key-file="$certificates/apiserver.key" \
        --kubelet-certificate-authority="$certificates/ca.crt" \
        --kubelet-client-certificate="$certificates/apiserver-kubelet.crt" \
        --kubelet-client-key="$certificates/apiserver-kubelet.key" \
        --kubelet-preferred-address-types=InternalIP \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local \
        --service-account-key-file="$certificates/service-account.pub" \
        --service-account-signing-key-file="$certificates/service-account.key"
    forwarder_up
    [ -e "$SITE/kubeconfig" ] ||
        kubeconfig "$SITE/kubeconfig" admin "/O=system:masters/CN=testbed-admin" "https://127.0.0.1:$SITE_PORT"
    await_process kube-apiserver 180 "the API server" kubectl get --raw /readyz
}

etcd_serves() {
    nsenter "--net=/run/netns/$SITE_NETNS" curl -fsS --max-time 2 http://127.0.0.1:2379/readyz
}

# port_free: fails if another process uses the configured port on 127.0.0.1.
port_free() {
    if process_alive forward-host; then return 0; fi
    if (exec 3<>"/dev/tcp/127.0.0.1/$SITE_PORT") 2>/dev/null; then
        fail "port $SITE_PORT on 127.0.0.1 is in use: set FABRICBENCH_TESTBED_PORT (or …_API_ONLY_PORT) to another port"
    fi
}

# The API server runs in a network namespace that has no link to the host network namespace; a Unix socket connects the two.
forwarder_up() {
    local socket=$SITE/run/api.sock
    if ! process_alive forward-api; then rm -f "$socket"; fi
    process_start forward-api "$SITE_NETNS" socat -t 5 "UNIX-LISTEN:$socket,fork,mode=600" TCP:127.0.0.1:6443
    process_start forward-host - socat -t 5 "TCP-LISTEN:$SITE_PORT,bind=127.0.0.1,fork,reuseaddr" "UNIX-CONNECT:$socket"
}

# controllers_up: must run after the API server is ready, because the controller manager exits if its RBAC permissions
# do not exist yet.
controllers_up() {
    local certificates=$SITE/certificates server=https://127.0.0.1:6443 name
    for name in kube-controller-manager kube-scheduler; do
        [ -e "$SITE/config/$name.kubeconfig" ] ||
            kubeconfig "$SITE/config/$name.kubeconfig" "$name" "/CN=system:$name" "$server"
    done
    # A node without heartbeats becomes NotReady after 20 s (default 50 s), which shortens the fault tests.
    process_start kube-controller-manager "$SITE_NETNS" "$(kubernetes kube-controller-manager)" \
        --kubeconfig="$SITE/config/kube-controller-manager.kubeconfig" --bind-address=127.0.0.1 \
        --leader-elect=false --use-service-account-credentials=true --profiling=false \
        --node-monitor-grace-period=20s --node-monitor-period=2s \
        --root-ca-file="$certificates/ca.crt" \
        --service-account-private-key-file="$certificates/service-account.key" \
        --cluster-signing-cert-file="$certificates/ca.crt" --cluster-signing-key-file="$certificates/ca.key"
    process_start kube-scheduler "$SITE_NETNS" "$(kubernetes kube-scheduler)" \
        --kubeconfig="$SITE/config/kube-scheduler.kubeconfig" --bind-address=127.0.0.1 \
        --leader-elect=false --profiling=false
}
