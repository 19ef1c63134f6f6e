/** Runs before the first paint, so that a theme that was chosen earlier doesn't flash. */
import { applyTheme, browserMemory, readTheme } from "./data/theme.js";

applyTheme(readTheme(browserMemory()), document.documentElement);
