/** What a host does while the engine can't be asked, once it has used what it was granted. */
export type ClusterFailureMode = "closed" | "local" | "open";
