/** A map that forgets what was written longest ago. */

/** Sets `key`, makes it the newest, and drops the oldest entries beyond `max`. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
	map.delete(key);
	map.set(key, value);
	for (const oldest of map.keys()) {
		if (map.size <= max) return;
		map.delete(oldest);
	}
}
