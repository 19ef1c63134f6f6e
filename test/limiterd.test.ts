/** All of `test/limiterd`. */
import { testFolder } from "./run-folder.js";

await testFolder("limiterd");
