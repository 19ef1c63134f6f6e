/** All of `test/systemd`. */
import { testFolder } from "./folder.js";

await testFolder("systemd");
