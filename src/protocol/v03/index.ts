/** A2A 0.3, translated at the door: the core has never heard of it. */
export { downcastCard, upcastCard } from "./card.ts";
export { endsProtoStream, protoError, protoParams, protoResult } from "./proto.ts";
export { buildProto, fromProtoResult, isProtoError, readProtoError, V03_PREFIX } from "./proto-client.ts";
export { downcastResult, upcastResult } from "./replies.ts";
export { downcastParams, isV03Message, upcastParams, v03Method } from "./requests.ts";
