/** Where both eyes look, as ARKit names it: right and up as the character has them, -1 .. 1. */
export function gazeWeights(across: number, up: number): Record<string, number> {
  const right = Math.max(0, across), left = Math.max(0, -across), high = Math.max(0, up), low = Math.max(0, -up);
  return {
    eyeLookInLeft: right, eyeLookOutRight: right, eyeLookOutLeft: left, eyeLookInRight: left,
    eyeLookUpLeft: high, eyeLookUpRight: high, eyeLookDownLeft: low, eyeLookDownRight: low,
  };
}
