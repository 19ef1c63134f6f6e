#!/bin/sh
# Publishes the files in FOLDER, which `npm run heavy -- release` has completed: publish.sh FOLDER.
# Variables: TAG (such as v0.1.0), REPOSITORY (such as acme/sluice on GitHub), GITHUB_TOKEN, NODE_AUTH_TOKEN.
# With DRY_RUN=1 it prints each command in place of running it; npm then checks the package.
set -eu
folder=$1
version=${TAG#v}
owner=${REPOSITORY%/*}
image=ghcr.io/$REPOSITORY

run() {
  echo "+ $*"
  [ -n "${DRY_RUN:-}" ] || "$@"
}
# What must be there, before anything is published.
for file in "sluice-$version.tgz" "sluice-chart-$version.tgz" SHA256SUMS NOTES.md; do
  [ -f "$folder/$file" ] || { echo "publish: $folder/$file is missing" >&2; exit 1; }
done
(cd "$folder" && sha256sum --check --quiet SHA256SUMS)

# A version before 1.0.0-rc.1 and the like isn't what `npm install` should find.
case $version in *-*) channel=next ;; *) channel=latest ;; esac
npm publish --dry-run --tag "$channel" "$folder/sluice-$version.tgz"
run npm publish --provenance --access public --tag "$channel" "$folder/sluice-$version.tgz"

# One image for both processors.
[ -n "${DRY_RUN:-}" ] || echo "$GITHUB_TOKEN" | buildah login --username "$owner" --password-stdin ghcr.io
run buildah manifest create "sluice:$version"
for archive in "$folder"/sluice-image-*.tar; do
  run buildah manifest add "sluice:$version" "oci-archive:$archive"
done
run buildah manifest push --all "sluice:$version" "docker://$image:$version"
[ "$channel" = next ] || run buildah manifest push --all "sluice:$version" "docker://$image:latest"

[ -n "${DRY_RUN:-}" ] || echo "$GITHUB_TOKEN" | helm registry login --username "$owner" --password-stdin ghcr.io
run helm push "$folder/sluice-chart-$version.tgz" "oci://ghcr.io/$owner/charts"

# Last, because its page names all the others.
set -- "$folder"/*.tgz "$folder"/*.tar.xz "$folder"/*.deb "$folder"/*.cdx.json "$folder/SHA256SUMS"
[ "$channel" = latest ] || set -- --prerelease "$@"
run gh release create "$TAG" --repo "$REPOSITORY" --verify-tag --title "Sluice $version" --notes-file "$folder/NOTES.md" "$@"
