/**
 * Who works with whom: every pair of us and a peer of a public implementation, in each version and binding, and what of
 * the protocol the pair runs. The tests run each cell; the table in the docs is made from these rows.
 */
import type { OperationName } from "../../src/protocol/operations.ts";

/** What is tried: the operations, and the delivery of a push notification. */
export type Trial = OperationName | "PushDelivery";

export interface Pair {
	/** The other side, as a reader knows it. */
	readonly peer: string;
	/** `us`: the peer's client calls our server; `them`: our client calls the peer's server. */
	readonly server: "us" | "them";
	readonly version: "1.0" | "0.3";
	readonly binding: "JSONRPC" | "HTTP+JSON";
	/** What cannot be had, and why; everything else works. */
	readonly lacks?: { readonly [T in Trial]?: string };
}

export const TRIALS: readonly Trial[] = [
	"SendMessage",
	"SendStreamingMessage",
	"GetTask",
	"ListTasks",
	"CancelTask",
	"SubscribeToTask",
	"CreateTaskPushNotificationConfig",
	"GetTaskPushNotificationConfig",
	"ListTaskPushNotificationConfigs",
	"DeleteTaskPushNotificationConfig",
	"PushDelivery",
	"GetExtendedAgentCard",
];

const NO_LIST = { ListTasks: "0.3 has no such operation" } as const;

const JS = "JavaScript SDK 1.3";
const JS_03 = "JavaScript SDK 0.3";

/** The pairs that `npm test` runs. */
export const JS_PAIRS: readonly Pair[] = [
	{ peer: JS, server: "us", version: "1.0", binding: "JSONRPC" },
	{ peer: JS, server: "us", version: "1.0", binding: "HTTP+JSON" },
	{ peer: JS_03, server: "us", version: "0.3", binding: "JSONRPC", lacks: NO_LIST },
	{ peer: JS_03, server: "us", version: "0.3", binding: "HTTP+JSON", lacks: NO_LIST },
	{ peer: JS, server: "them", version: "1.0", binding: "JSONRPC" },
	{ peer: JS, server: "them", version: "1.0", binding: "HTTP+JSON" },
	{ peer: JS_03, server: "them", version: "0.3", binding: "JSONRPC", lacks: NO_LIST },
	{ peer: JS_03, server: "them", version: "0.3", binding: "HTTP+JSON", lacks: NO_LIST },
];

const PYTHON = "Python SDK 1.3";
/** What the SDK itself does not have of 0.3 over HTTP+JSON. */
const PYTHON_REST_03_CLIENT = {
	...NO_LIST,
	ListTaskPushNotificationConfigs: "the SDK's client has no such call",
	DeleteTaskPushNotificationConfig: "the SDK's client has no such call",
} as const;
const PYTHON_REST_03_SERVER = {
	...NO_LIST,
	DeleteTaskPushNotificationConfig: "the SDK's server has no such path",
} as const;

/** The pairs that `npm run test:interop` runs. */
export const PYTHON_PAIRS: readonly Pair[] = [
	{ peer: PYTHON, server: "us", version: "1.0", binding: "JSONRPC" },
	{ peer: PYTHON, server: "us", version: "1.0", binding: "HTTP+JSON" },
	{ peer: PYTHON, server: "us", version: "0.3", binding: "JSONRPC", lacks: NO_LIST },
	{ peer: PYTHON, server: "us", version: "0.3", binding: "HTTP+JSON", lacks: PYTHON_REST_03_CLIENT },
	{ peer: PYTHON, server: "them", version: "1.0", binding: "JSONRPC" },
	{ peer: PYTHON, server: "them", version: "1.0", binding: "HTTP+JSON" },
	{ peer: PYTHON, server: "them", version: "0.3", binding: "JSONRPC", lacks: NO_LIST },
	{ peer: PYTHON, server: "them", version: "0.3", binding: "HTTP+JSON", lacks: PYTHON_REST_03_SERVER },
];

/** Name of a pair, for tests. */
export const pairName = ({ peer, server, version, binding }: Pair): string =>
	server === "us" ? `${peer} → us, ${version} over ${binding}` : `us → ${peer}, ${version} over ${binding}`;
