/** All of `test/systemd`. */
import { testFolder } from "./run-folder.js";

await testFolder("systemd");
