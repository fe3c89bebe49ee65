/** Keys of push notifications that this session sends. */
import { flag, token } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const push = rows("Push notifications", "server", "it decides what this machine sends, and where");

export const PUSH_KEYS = {
	pushEnabled: push("server.pushNotifications", flag(), true, {
		env: "A2A_PUSH_NOTIFICATIONS",
		help: "Tells webhooks that callers name what happens to their tasks",
	}),
	pushSecret: push("server.pushSecret", token(), "", {
		env: "A2A_PUSH_SECRET",
		help: "Key of the HMAC-SHA256 signatures on notifications; without one they are not signed",
		restart: "none",
	}),
	pushPrivate: push("server.pushPrivate", flag(), false, {
		help: "Webhooks may lead into private networks, such as 10.0.0.0/8",
		restart: "none",
	}),
} as const satisfies KeyTable;
