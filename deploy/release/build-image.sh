#!/bin/sh
# Builds the container image of this machine's processor from the tarball in FOLDER, and leaves it
# there as an OCI archive: build-image.sh FOLDER. BASE: an image in place of the Dockerfile's.
set -eu
folder=$1
base=${BASE:+--build-arg=BASE=$BASE}
file=$(dirname -- "$0")/../../docs/examples/container/Dockerfile
buildah bud --format=docker $base --file="$file" --tag=localhost/sluice "$folder"
buildah push localhost/sluice "oci-archive:$folder/sluice-image-$(uname -m).tar"
