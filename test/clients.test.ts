/** All of `test/clients` that needs no client: `npm run clients` runs these. */
import { testFolder } from "./run-folder.js";

await testFolder("clients");
