/** Chance that can be had again: numbers from 0 to below 1, the same for the same seed (a linear congruence). */
export function seeded(seed: number): () => number {
	let state = seed >>> 0 || 1;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}
