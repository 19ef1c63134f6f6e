/**
 * Kubernetes' published JSON schemas, strict, of several versions: those that the package
 * kubernetes-validate of PyPI holds, in the folder that `SLUICE_KUBERNETES_SCHEMAS` names.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseAllDocuments } from "yaml";

const folder = process.env["SLUICE_KUBERNETES_SCHEMAS"] ?? "";

/** The reason to skip a test that needs the schemas, or false. */
export const noSchemas =
  folder === "" ? "SLUICE_KUBERNETES_SCHEMAS names no schemas of Kubernetes" : false;

/** The oldest version with native sidecars, one in between, and the newest. */
export const kubernetesVersions = ["1.29", "1.33", "1.37"] as const;

/** Of the Prometheus operator, whose definition is no part of Kubernetes. */
const foreignGroup = "monitoring.coreos.com/";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What is wrong with the documents of a text at a version; empty if that version accepts all. */
export function schemaProblems(text: string, version: string): readonly string[] {
  const at = join(folder, `v${version}.0-local-strict`);
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(
    JSON.parse(readFileSync(join(at, "_definitions.json"), "utf8")),
    "/api/_definitions.json",
  );
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) return document.errors.map(({ message }) => message);
    const manifest = document.toJS() as Manifest | null;
    if (manifest === null || manifest.apiVersion.startsWith(foreignGroup)) return [];
    const group = manifest.apiVersion.replace(/^([^./]*)(?:\.[^/]*)?\//, "$1-");
    const file = join(at, `${manifest.kind.toLowerCase()}-${group}.json`);
    if (!existsSync(file))
      return [`Kubernetes ${version} has no ${manifest.apiVersion} ${manifest.kind}`];
    const { $id: _, ...schema } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly $id?: string;
    };
    const { kind } = manifest;
    ajv.removeSchema(`/api/${kind}`);
    ajv.validate({ ...schema, $id: `/api/${kind}` }, manifest);
    return (ajv.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${kind}${instancePath} ${message ?? ""} ${JSON.stringify(params)}`,
    );
  });
}
