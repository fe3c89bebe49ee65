/** Push notifications as values (§4.3): a webhook as it was configured, a notification, and what became of it. */
import { REST_MEDIA_TYPE } from "./rest.ts";
import type { StreamResponse, TaskPushNotificationConfig } from "./types.ts";
import { eventV03 } from "./v03/data.ts";

/** A configuration as it is kept, with its secrets. A plain value, so that it can be written down. */
export interface PushConfig extends Pick<TaskPushNotificationConfig, "url" | "token" | "authentication"> {
	readonly id: string;
	/** The shapes that its receiver reads: those of the call that made it. */
	readonly version: "1.0" | "0.3";
	/** It was made from this machine, so its receiver may be here. */
	readonly loopback: boolean;
}

/** One POST to a webhook. */
export interface Notification {
	readonly url: string;
	readonly loopback: boolean;
	/** Lower-case names. */
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
}

/** `again`: another try may help, not before `afterMs`. `refused`: none will. `why` is one line without secrets. */
export type Delivery =
	| { readonly outcome: "taken" }
	| { readonly outcome: "again"; readonly why: string; readonly afterMs: number }
	| { readonly outcome: "refused"; readonly why: string };

/** The way to receivers. */
export interface Webhooks {
	/** Throws `ForbiddenError`, with a reason for the caller, when that address is not called. */
	check(url: string, loopback: boolean): Promise<void>;
	/** One try. Throws nothing but the reason of `signal`. */
	deliver(notification: Notification, signal: AbortSignal): Promise<Delivery>;
	/** Ends its connections. May be called twice. */
	close(): void;
}

/** `item` as the receiver of `config` reads it; for 0.3 `item` is a whole Task (0.3 §9.5). */
export function notification(config: PushConfig, item: StreamResponse): Notification {
	const { url, loopback, token, authentication, version } = config;
	const isV03 = version === "0.3";
	return {
		url,
		loopback,
		headers: {
			"content-type": isV03 ? "application/json" : REST_MEDIA_TYPE,
			"a2a-version": version,
			...(token ? { "x-a2a-notification-token": token } : {}),
			...(authentication?.credentials
				? { authorization: `${authentication.scheme} ${authentication.credentials}` }
				: {}),
		},
		body: JSON.stringify(isV03 ? eventV03(item) : item),
	};
}
