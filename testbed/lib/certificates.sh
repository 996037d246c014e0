# shellcheck shell=bash
# The site's certificate authority, its certificates, and the kubeconfigs that carry them.

CERTIFICATE_DAYS=365

# certificates_up: the authority, the API server's certificates, the key of service account tokens.
certificates_up() {
    local folder=$SITE/certificates names
    mkdir -p "$folder"
    chmod 700 "$folder"
    if [ ! -e "$folder/ca.crt" ]; then
        new_key ca
        openssl req -x509 -new -key "$folder/ca.key" -subj "/CN=fabricbench testbed" -days "$CERTIFICATE_DAYS" \
            -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
            -out "$folder/ca.crt.part"
        mv "$folder/ca.crt.part" "$folder/ca.crt"
    fi
    if [ ! -e "$folder/service-account.pub" ]; then
        new_key service-account
        openssl pkey -in "$folder/service-account.key" -pubout -out "$folder/service-account.pub"
    fi
    names="DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
    names+=",DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$CONTROL_ADDRESS,IP:$SERVICE_FIRST"
    certificate apiserver "/CN=kube-apiserver" "$names"
    certificate apiserver-kubelet "/O=system:masters/CN=apiserver-kubelet"
}

# new_key NAME
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$SITE/certificates/$1.key"; }

# certificate NAME SUBJECT [SUBJECT-ALTERNATIVE-NAMES]: for clients and servers both, unless it exists.
certificate() {
    local folder=$SITE/certificates name=$1
    [ ! -e "$folder/$name.crt" ] || return 0
    new_key "$name"
    openssl req -new -key "$folder/$name.key" -subj "$2" |
        openssl x509 -req -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -days "$CERTIFICATE_DAYS" \
            -set_serial "0x$(openssl rand -hex 16)" -out "$folder/$name.crt.part" -extfile <(
                printf 'keyUsage=digitalSignature\nextendedKeyUsage=clientAuth,serverAuth\n'
                [ -z "${3:-}" ] || printf 'subjectAltName=%s\n' "$3"
            ) 2>/dev/null
    mv "$folder/$name.crt.part" "$folder/$name.crt"
}

# kubeconfig FILE NAME SUBJECT SERVER [SUBJECT-ALTERNATIVE-NAMES]: a kubeconfig of its own, its certificate inside.
kubeconfig() {
    local file=$1 name=$2 folder=$SITE/certificates
    certificate "$name" "$3" "${5:-}"
    mkdir -p "$(dirname "$file")"
    render "$HERE/config/kubeconfig.yaml" "SERVER=$4" "USER=$name" "CA=$(base64 -w0 "$folder/ca.crt")" \
        "CERTIFICATE=$(base64 -w0 "$folder/$name.crt")" "KEY=$(base64 -w0 "$folder/$name.key")" >"$file.part"
    chmod 600 "$file.part"
    mv "$file.part" "$file"
}
