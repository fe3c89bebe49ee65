/** What differs between two configurations. Pure. */
import { isDeepStrictEqual } from "node:util";
import { type Config, KEYS } from "./keys.ts";
import type { Restart } from "./row.ts";

const namesOf = (config: Config): readonly (keyof Config)[] => Object.keys(config) as (keyof Config)[];

/** What must restart for the new settings to hold. */
export function changes(before: Config, now: Config): ReadonlySet<Restart> {
	const changed = namesOf(now).filter((name) => !isDeepStrictEqual(before[name], now[name]));
	return new Set(changed.map((name) => KEYS[name].restart));
}

/** Whether settings of the mailbox have changed. */
export function isMoved(before: Config, now: Config): boolean {
	return namesOf(now).some((name) => name.startsWith("mailbox") && before[name] !== now[name]);
}
