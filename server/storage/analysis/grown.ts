/** A copy of twice the length. */
export function grown<Values extends Uint32Array | Int32Array | Float64Array | Uint8Array | Uint16Array>(
  values: Values,
): Values {
  const larger = new (values.constructor as new (length: number) => Values)(values.length * 2);
  larger.set(values);
  return larger;
}
