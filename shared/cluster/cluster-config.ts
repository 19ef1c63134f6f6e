/**
 * The configuration of the engine that several hosts share (docs/several-hosts.md), and the check
 * that its settings fit together. Not here: the connection to the engine
 * (`limiterd/cluster/engine/`).
 */
import type { EngineAddress } from "./engine-url.js";

/** What a host does while the engine is unreachable. */
export type ClusterFailureMode = "closed" | "local" | "open";

interface Credentials {
  /** Null: the engine's default user. */
  readonly username: string | null;
  readonly password: string | null;
}

export interface ClusterConfig {
  /** The prefix of all keys: clusters with different names on one engine are separate. */
  readonly name: string;
  /** The engine's servers, or its Sentinels; at least one. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  readonly tls: boolean;
  /** Certificates trusted instead of the system's, an absolute path. */
  readonly caFile: string | null;
  readonly credentials: Credentials;
  /** A file with the password, an absolute path, read at each connection; replaces `password`. */
  readonly passwordFile: string | null;
  /** Null if the addresses are the engine's own. */
  readonly sentinel: {
    readonly master: string;
    readonly credentials: Credentials;
    /** A file with the Sentinels' password; replaces their `password`. */
    readonly passwordFile: string | null;
  } | null;
  readonly failureMode: ClusterFailureMode;
}

/** The part of the configuration that is about the cluster. */
export interface ClusterPart {
  /** Null if this host shares nothing. */
  readonly cluster: ClusterConfig | null;
}

/** The settings in force, with absolute paths. */
interface ClusterSettings {
  readonly clusterUrl: readonly EngineAddress[] | null;
  readonly clusterName: string;
  readonly clusterFailureMode: ClusterFailureMode;
  readonly clusterUsername: string | null;
  readonly clusterPassword: string | null;
  readonly clusterPasswordFile: string | null;
  readonly clusterCaFile: string | null;
  readonly clusterSentinelMaster: string | null;
  readonly clusterSentinelPasswordFile: string | null;
}

/** `report` gets each setting that conflicts with another, and the problem. */
export function buildCluster(
  values: ClusterSettings,
  report: (
    setting: "clusterUrl" | "clusterCaFile" | "clusterSentinelPasswordFile",
    problem: string,
  ) => void,
): ClusterConfig | null {
  const addresses = values.clusterUrl;
  if (addresses === null) return null;
  const [{ tls, username, password }] = addresses as readonly [EngineAddress];
  if (addresses.some((address) => address.tls !== tls))
    report("clusterUrl", "must have addresses that are all encrypted, or none of them");
  if (addresses.some((address) => address.username !== username || address.password !== password))
    report("clusterUrl", "must have the same user and password in each address, or in none");
  if (values.clusterCaFile !== null && !tls)
    report("clusterCaFile", "is for addresses that begin with valkeys:// or rediss://");
  const urlCredentials = { username, password };
  const ownCredentials = { username: values.clusterUsername, password: values.clusterPassword };
  const isOwnSet = Object.values({ ...ownCredentials, file: values.clusterPasswordFile }).some(
    (option) => option !== null,
  );
  const isUrlSet = username !== null || password !== null;
  const master = values.clusterSentinelMaster;
  if (master === null && isOwnSet && isUrlSet)
    report(
      "clusterUrl",
      "must be without user and password when cluster.username, cluster.password or cluster.password_file has them",
    );
  const sentinelFile = values.clusterSentinelPasswordFile;
  if (sentinelFile !== null && master === null)
    report("clusterSentinelPasswordFile", "is for Sentinels: cluster.sentinel_master isn't set");
  if (sentinelFile !== null && master !== null && password !== null)
    report(
      "clusterUrl",
      "must be without a password when cluster.sentinel_password_file has the Sentinels'",
    );
  return {
    name: values.clusterName,
    addresses: addresses.map(({ host, port }) => ({ host, port })),
    tls,
    caFile: values.clusterCaFile,
    credentials: master === null && isUrlSet ? urlCredentials : ownCredentials,
    passwordFile: values.clusterPasswordFile,
    sentinel:
      master === null ? null : { master, credentials: urlCredentials, passwordFile: sentinelFile },
    failureMode: values.clusterFailureMode,
  };
}
