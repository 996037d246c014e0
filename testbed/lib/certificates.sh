# shellcheck shell=bash
# The site's certificate authority, its certificates, and the kubeconfigs that contain them.

CERTIFICATE_DAYS=365

# certificates_up: creates the certificate authority, the API server's certificates and the key for service account tokens.
certificates_up() {
    local dir=$SITE/certificates names
    mkdir -p "$dir"
    chmod 700 "$dir"
    if [ ! -e "$dir/ca.crt" ]; then
        new_key ca
        openssl req -x509 -new -key "$dir/ca.key" -subj "/CN=fabricbench testbed" -days "$CERTIFICATE_DAYS" \
            -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
            -out "$dir/ca.crt.part"
        mv "$dir/ca.crt.part" "$dir/ca.crt"
    fi
    if [ ! -e "$dir/service-account.pub" ]; then
        new_key service-account
        openssl pkey -in "$dir/service-account.key" -pubout -out "$dir/service-account.pub"
    fi
    names="DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
    names+=",DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$CONTROL_ADDRESS,IP:$SERVICE_FIRST"
    certificate apiserver "/CN=kube-apiserver" "$names"
    certificate apiserver-kubelet "/O=system:masters/CN=apiserver-kubelet"
}

# new_key NAME: creates a private key.
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$SITE/certificates/$1.key"; }

# certificate NAME SUBJECT [SUBJECT-ALTERNATIVE-NAMES]: creates a certificate for client and server use unless it
# already exists.
certificate() {
    local dir=$SITE/certificates name=$1
    [ ! -e "$dir/$name.crt" ] || return 0
    new_key "$name"
    openssl req -new -key "$dir/$name.key" -subj "$2" |
        openssl x509 -req -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -days "$CERTIFICATE_DAYS" \
            -set_serial "0x$(openssl rand -hex 16)" -out "$dir/$name.crt.part" -extfile <(
                printf 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n'
                [ -z "${3:-}" ] || printf 'subjectAltName=%s\n' "$3"
            ) 2>/dev/null
    mv "$dir/$name.crt.part" "$dir/$name.crt"
}

# kubeconfig FILE NAME SUBJECT SERVER [SUBJECT-ALTERNATIVE-NAMES]: writes a kubeconfig with an embedded certificate.
kubeconfig() {
    local file=$1 name=$2 dir=$SITE/certificates
    certificate "$name" "$3" "${5:-}"
    mkdir -p "$(dirname "$file")"
    render "$HERE/config/kubeconfig.yaml" "SERVER=$4" "USER=$name" "CA=$(base64 -w0 "$dir/ca.crt")" \
        "CERTIFICATE=$(base64 -w0 "$dir/$name.crt")" "KEY=$(base64 -w0 "$dir/$name.key")" >"$file.part"
    chmod 600 "$file.part"
    mv "$file.part" "$file"
}
