/** The move can't be begun; the message says what to do. */
export class MoveRefused extends Error {}
