/**
 * The user path of a client by its certificate (`server.tls.client_id`, `server.tls.user_path`).
 * TLS has verified the certificate before.
 */
import type { ClientCertificates } from "../../shared/config/resolve/tls.js";
import { pathFromClaims } from "./jwt-path.js";

interface PeerCertificate {
  /** As Node writes it: `URI:spiffe://example.org/a, DNS:a.example`. */
  readonly subjectaltname?: string | undefined;
}

/**
 * Returns the function from a certificate to its user path: that of the first URI or DNS name that
 * `client_id` matches as a whole, or null. A part is a segment of a URI, or a label of a DNS name.
 */
export function certificatePaths({
  id,
  userPath,
}: ClientCertificates): (certificate: PeerCertificate) => string | null {
  const isUri = id.includes("://");
  const names: string[] = [];
  const pattern = id.split(/\{(\w+)\}/).map((text, i) => {
    if (i % 2 === 0) return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    names.push(text);
    return isUri ? "([^/]+)" : "([^./]+)";
  });
  const wholeName = new RegExp(`^${pattern.join("")}$`, isUri ? "" : "i");
  const type = isUri ? "URI" : "DNS";
  return ({ subjectaltname }) => {
    for (const name of namesOf(subjectaltname ?? "", type)) {
      const [, ...parts] = wholeName.exec(name) ?? [null];
      if (parts.length !== names.length || !wholeName.test(name)) continue;
      const claims = Object.fromEntries(names.map((key, i) => [key, parts[i]!]));
      return names.length === 0 ? userPath : pathFromClaims(userPath, claims);
    }
    return null;
  };
}

/** Node quotes a name as JSON when it holds a character that could end it. */
function namesOf(subjectAltName: string, type: string): readonly string[] {
  const entries = subjectAltName.matchAll(/(?:^|, )(\w[\w ]*):("(?:[^"\\]|\\.)*"|[^,]*)/g);
  return [...entries]
    .filter(([, kind]) => kind === type)
    .map(([, , name = ""]) => (name.startsWith('"') ? (JSON.parse(name) as string) : name));
}
