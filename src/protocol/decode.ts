/**
 * The doors of the protocol: `unknown` in, typed values out. A caller's parameters are read strictly, a peer's answers
 * and cards tolerantly. The parts: `decode-params`, `decode-results`, `decode-card`.
 */
export { decodeCard } from "./decode-card.ts";
export { decodeParams } from "./decode-params.ts";
export { decodeResult } from "./decode-results.ts";
