/** All fuzzers. */
import type { FuzzTarget } from "./fuzz-target.js";
import { longLists } from "./growth/long-lists.js";
import { longTexts } from "./growth/long-texts.js";
import { manyNames } from "./growth/many-names.js";
import { clientBodies } from "./targets/client-bodies.js";
import { configuration } from "./targets/configuration.js";
import { framesToDaemon } from "./targets/frames-to-daemon.js";
import { framesToProxy } from "./targets/frames-to-proxy.js";
import { headers } from "./targets/headers.js";
import { http } from "./targets/http.js";
import { providerAnswers } from "./targets/provider-answers.js";
import { storeFiles } from "./targets/store-files.js";
import { storedBytes } from "./targets/stored-bytes.js";
import { usageLayouts } from "./targets/usage-layouts.js";

export const targets: readonly FuzzTarget[] = [
  clientBodies,
  longTexts,
  longLists,
  manyNames,
  providerAnswers,
  framesToDaemon,
  framesToProxy,
  configuration,
  storeFiles,
  storedBytes,
  headers,
  http,
  usageLayouts,
];
