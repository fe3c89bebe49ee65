/**
 * The rows of test/corpora. Rows about credentials are stored with every line written backwards, so that no scanner
 * takes the made-up tokens for real ones.
 */
import { readFileSync } from "node:fs";

/** The rows of `name`; a name that ends in `.rev` is read backwards. */
export function rows<Row>(name: string): Row[] {
	const lines = readFileSync(new URL(`../corpora/${name}`, import.meta.url), "utf8")
		.split("\n")
		.filter(Boolean);
	return lines.map((line) => JSON.parse(name.endsWith(".rev") ? [...line].reverse().join("") : line) as Row);
}

/** `a` of `b` in percent. */
export const percent = (a: number, b: number): number => (100 * a) / b;

/** Repeatable numbers from 0 to 1. */
export function dice(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
		return state / 0x80000000;
	};
}

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** A made-up secret of `length` letters and digits. */
export function secret(length: number, seed = 1): string {
	const next = dice(seed * 7919 + length);
	return Array.from({ length }, () => SIGNS[Math.floor(next() * SIGNS.length)]).join("");
}
