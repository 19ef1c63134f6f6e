/** The gateways that the benchmark knows how to set up. */
import type { GatewaySetUp } from "./gateway.js";
import { gomodel } from "./gomodel.js";
import { litellm } from "./litellm.js";
import { portkey } from "./portkey.js";
import { sluice, sluiceHard } from "./sluice.js";

/** By the name that `--peer` takes. */
export const gateways: Readonly<Record<string, GatewaySetUp>> = {
  sluice,
  "sluice-hard": sluiceHard,
  gomodel,
  litellm,
  portkey,
};
