/** The move can't begin; the message says what to do. */
export class MoveRefused extends Error {}
