import * as THREE from 'three';

// The floor: grid lines that fade with the distance and stay one pixel wide, and the shadows.

const vertex = `
varying vec2 at;
void main() {
  vec4 world = modelMatrix * vec4(position, 1.0);
  at = world.xz;
  gl_Position = projectionMatrix * viewMatrix * world;
}`;
const fragment = `
varying vec2 at;
uniform vec3 colour;
uniform vec2 centre;
uniform float cell, radius;
float lines(float size, float width) {
  vec2 p = at / size, w = fwidth(p);
  vec2 near = abs(fract(p - 0.5) - 0.5) / max(w, 1e-6);
  // Where a cell is no wider than a few pixels its lines would shimmer: they fade first.
  vec2 calm = 1.0 - smoothstep(0.12, 0.4, w);
  vec2 on = (1.0 - smoothstep(width - 0.5, width + 0.7, near)) * calm;
  return max(on.x, on.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.12, 1.0, length(at - centre) / radius);
  float on = max(0.30 * lines(cell, 0.5), 0.55 * lines(cell * 5.0, 0.6));
  gl_FragColor = vec4(colour, on * fade * fade);
  #include <colorspace_fragment>
}`;

export class Ground extends THREE.Group {
  private readonly grid: THREE.Mesh<THREE.PlaneGeometry, THREE.ShaderMaterial>;
  private readonly shadow: THREE.Mesh<THREE.PlaneGeometry, THREE.ShadowMaterial>;

  constructor() {
    super();
    const plane = new THREE.PlaneGeometry(2, 2).rotateX(-Math.PI / 2);
    this.grid = new THREE.Mesh(plane, new THREE.ShaderMaterial({
      vertexShader: vertex, fragmentShader: fragment, transparent: true, depthWrite: false,
      uniforms: { colour: { value: new THREE.Color() }, centre: { value: new THREE.Vector2() }, cell: { value: 1 }, radius: { value: 10 } },
    }));
    this.shadow = new THREE.Mesh(plane, new THREE.ShadowMaterial({ opacity: 0.4, transparent: true, depthWrite: false }));
    this.shadow.receiveShadow = true;
    this.grid.renderOrder = -1; // below the characters that are see-through
    this.shadow.renderOrder = -2;
    this.add(this.grid, this.shadow);
  }

  /** Around a group of that size, metres. */
  fit(centre: THREE.Vector3, size: number): void {
    const u = this.grid.material.uniforms, radius = size * 7;
    u.centre!.value.set(centre.x, centre.z);
    u.radius!.value = radius;
    u.cell!.value = 10 ** Math.floor(Math.log10(size * 0.9)) * 0.5;
    for (const mesh of [this.grid, this.shadow]) {
      mesh.scale.setScalar(radius);
      mesh.position.set(centre.x, 0, centre.z);
    }
    this.shadow.position.y = -size * 1e-4;
  }

  colours(line: string, shadow: string, opacity: number): void {
    this.grid.material.uniforms.colour!.value.set(line);
    this.shadow.material.color.set(shadow);
    this.shadow.material.opacity = opacity;
  }
}
