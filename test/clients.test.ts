/** All of `test/clients` that needs no client: `npm run heavy -- clients` runs these. */
import { testFolder } from "./run-folder.js";

await testFolder("clients");
