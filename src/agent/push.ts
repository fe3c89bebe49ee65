/** The four push configuration operations (§3.1.7 to §3.1.10). */
import { A2AError } from "../protocol/errors.ts";

function refuse(): never {
	throw new A2AError("PushNotificationNotSupportedError");
}

/** Webhooks are not offered: each operation is refused as §3.3.4 asks. */
export const pushOperations = { create: refuse, get: refuse, list: refuse, delete: refuse } as const;
