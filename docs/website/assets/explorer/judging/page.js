/** The judge as a separate script, which the page loads on demand. */

import { accepts, judge } from "./judge.js";
import { read } from "./json.js";

globalThis.mcpExplorer.judge = { accepts, judge, read };
