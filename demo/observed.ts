/** What the demo must have seen before it may call itself a success. Each line is checked off by evidence, once. */

export interface Checklist {
	/** Checks off a claim; `evidence` is false when what was seen does not support it. */
	see(claim: string, evidence: boolean): void;
	/** Claims that were never seen, or seen to be untrue. */
	missing(): readonly string[];
}

export function checklist(claims: readonly string[]): Checklist {
	const open = new Set(claims);
	const untrue = new Set<string>();
	return {
		see(claim, evidence) {
			if (!claims.includes(claim)) throw new Error(`the demo has no claim "${claim}"`);
			if (evidence) open.delete(claim);
			else untrue.add(claim);
		},
		missing: () => claims.filter((claim) => open.has(claim) || untrue.has(claim)),
	};
}
