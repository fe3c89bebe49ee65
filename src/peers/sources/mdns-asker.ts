/** What is asked of the network, and when it was last asked. */
import type { Clock } from "../../lib/clock.ts";
import type { Link } from "./mdns-link.ts";
import { domainOf } from "./mdns-records.ts";

export interface Asker {
	/** Milliseconds since the services were asked for; infinite when they were not. */
	readonly age: number;
	/** Asks for the services. */
	ask(link: Link): void;
	/** Asks for the rest of services of which only the full name was said. */
	follow(link: Link, names: readonly string[]): void;
	/** What was asked is out of date. */
	forget(): void;
}

/** Between two rounds; whoever makes up more names than that is not humoured. */
const MAX_FOLLOW_UPS = 20;

export function createAsker(type: string, clock: Clock): Asker {
	let askedAt = Number.NEGATIVE_INFINITY;
	let followUps = 0;
	return {
		get age() {
			return clock.now() - askedAt;
		},
		ask(link) {
			askedAt = clock.now();
			followUps = 0;
			link.ask([{ name: domainOf(type), type: "PTR" }]);
		},
		follow(link, names) {
			for (const name of names.slice(0, MAX_FOLLOW_UPS - followUps)) {
				followUps += 1;
				link.ask(["SRV", "TXT"].map((kind) => ({ name, type: kind })));
			}
		},
		forget() {
			askedAt = Number.NEGATIVE_INFINITY;
		},
	};
}
