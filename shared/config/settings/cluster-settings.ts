/** The settings of what several hosts share, `cluster.*` in the file. */
import type { ClusterFailureMode } from "../../cluster/cluster-config.js";
import type { EngineAddress } from "../../cluster/engine-url.js";
import { choice } from "../kinds/choice-kinds.js";
import { clusterName, enginePassword, engineUrls, engineWord } from "../kinds/cluster-kinds.js";
import { filePath } from "../kinds/text-kinds.js";
import { setting } from "./setting.js";

export const clusterSettings = {
  clusterUrl: setting<readonly EngineAddress[] | null>({
    path: "cluster.url",
    env: "SLUICE_CLUSTER_URL",
    flag: null,
    kind: engineUrls,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning:
      "The Valkey or Redis that hosts share their limits through: its address, several of a Cluster, or those of its Sentinels; without it, each host has its own.",
  }),
  clusterName: setting({
    path: "cluster.name",
    env: "SLUICE_CLUSTER_NAME",
    flag: null,
    kind: clusterName,
    defaultValue: "sluice",
    defaultText: "sluice",
    unit: null,
    meaning: "Which cluster this host belongs to: those of other names share nothing with it.",
  }),
  clusterFailureMode: setting<ClusterFailureMode>({
    path: "cluster.failure_mode",
    env: "SLUICE_CLUSTER_FAILURE_MODE",
    flag: null,
    kind: choice(["closed", "local", "open"]),
    defaultValue: "closed",
    defaultText: "closed",
    unit: null,
    meaning:
      "What limited requests get while that is away and nothing granted is left: closed refuses them with 503, local gives this host its part of each limit, open lets them through and counts them later.",
  }),
  clusterUsername: setting({
    path: "cluster.username",
    env: "SLUICE_CLUSTER_USERNAME",
    flag: null,
    kind: engineWord,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "The ACL user, if the address doesn't have one.",
  }),
  clusterPassword: setting({
    path: "cluster.password",
    env: "SLUICE_CLUSTER_PASSWORD",
    flag: null,
    kind: enginePassword,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "Its password, if the address doesn't have one.",
  }),
  clusterPasswordFile: setting({
    path: "cluster.password_file",
    env: "SLUICE_CLUSTER_PASSWORD_FILE",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "A file that holds the password, read at each new connection.",
  }),
  clusterCaFile: setting({
    path: "cluster.ca_file",
    env: "SLUICE_CLUSTER_CA_FILE",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "Certificates in PEM that are trusted there in place of the system's.",
  }),
  clusterSentinelMaster: setting({
    path: "cluster.sentinel_master",
    env: "SLUICE_CLUSTER_SENTINEL_MASTER",
    flag: null,
    kind: engineWord,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning:
      "What Sentinels call the server; the addresses, and a user and password in them, are then theirs.",
  }),
  clusterSentinelPasswordFile: setting({
    path: "cluster.sentinel_password_file",
    env: "SLUICE_CLUSTER_SENTINEL_PASSWORD_FILE",
    flag: null,
    kind: filePath,
    defaultValue: null,
    defaultText: "none",
    unit: null,
    meaning: "A file that holds the password of the Sentinels, read at each new connection.",
  }),
} as const;
