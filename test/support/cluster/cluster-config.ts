/** A configuration of what hosts share, by its address. */
import { buildCluster, type ClusterConfig } from "../../../shared/cluster/cluster-config.js";
import { parseEngineUrl } from "../../../shared/cluster/engine-url.js";

export function createPlainConfig(
  urls: string,
  changes: Partial<ClusterConfig> = {},
): ClusterConfig {
  const config = buildCluster(
    {
      clusterUrl: urls.split(",").map((url) => parseEngineUrl(url)!),
      clusterName: "sluice",
      clusterFailureMode: "closed",
      clusterUsername: null,
      clusterPassword: null,
      clusterPasswordFile: null,
      clusterCaFile: null,
      clusterSentinelMaster: null,
      clusterSentinelPasswordFile: null,
    },
    (setting, problem) => {
      throw new Error(`${setting} ${problem}`);
    },
  );
  return { ...config!, ...changes };
}
