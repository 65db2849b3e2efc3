/** The judge as a script of its own, which the page loads when somebody wants it. */

import { accepts, judge } from "./judge.js";
import { read } from "./json.js";

globalThis.mcpExplorer.judge = { accepts, judge, read };
