/** Receivers of notifications that are no network: they answer as they are told. */
import type { Delivery, Notification, Webhooks } from "../../src/protocol/push.ts";
import type { StreamResponse } from "../../src/protocol/types.ts";

export type Answer = (notification: Notification, index: number) => Delivery | Promise<Delivery>;

export const taken: Delivery = { outcome: "taken" };
export const again: Delivery = { outcome: "again", why: "it answered HTTP 503", afterMs: 0 };

/** Remembers what it was told; takes it unless `answer` says otherwise. */
export function receiver(answer: Answer = () => taken) {
	const calls: Notification[] = [];
	let closed = 0;
	const webhooks: Webhooks = {
		check: async () => undefined,
		async deliver(notification) {
			calls.push(notification);
			return answer(notification, calls.length - 1);
		},
		close() {
			closed += 1;
		},
	};
	return {
		webhooks,
		calls,
		closed: () => closed,
		items: () => calls.map(({ body }) => JSON.parse(body) as StreamResponse),
	};
}
