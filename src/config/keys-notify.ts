/** What happens when a result comes home. */
import { word } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const ui = rows("UI", "none", "it decides what you see, and what peers' text your model reads");

export const NOTIFY_KEYS = {
	notifyOnSettled: ui("notify.onSettled", word(/^(off|show|wake)$/, "off, show or wake"), "show", {
		help: "When an `async_dispatch` settles: `show` tells you, `wake` hands the result to the model as well",
	}),
} as const satisfies KeyTable;
