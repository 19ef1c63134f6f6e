/** All of `test/ledger`. */
import { testFolder } from "./run-folder.js";

await testFolder("ledger");
