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
float lines(float size, float width, vec2 pixel) {
  vec2 p = at / size, w = pixel / size;
  vec2 near = abs(fract(p - 0.5) - 0.5) / max(w, 1e-6);
  // Where a cell is no wider than a few pixels its lines would shimmer: they fade first.
  vec2 calm = 1.0 - smoothstep(0.12, 0.4, w);
  vec2 on = (1.0 - smoothstep(width - 0.5, width + 0.7, near)) * calm;
  return max(on.x, on.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.12, 1.0, length(at - centre) / radius);
  vec2 pixel = fwidth(at);
  float on = max(0.22 * lines(cell, 0.5, pixel), 0.45 * lines(cell * 5.0, 0.6, pixel));
  gl_FragColor = vec4(colour, on * fade * fade);
  #include <colorspace_fragment>
}`;

const LINES = 40; // to each side
const GRID_REACH = 5, SHADOW_REACH = 1.3; // times the size of what stands there

export class Ground extends THREE.Group {
  private readonly grid: THREE.Mesh<THREE.CircleGeometry, THREE.ShaderMaterial>;
  private readonly shadow: THREE.Mesh<THREE.CircleGeometry, THREE.ShadowMaterial>;

  private lines: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> | null = null;

  constructor() {
    super();
    const disc = new THREE.CircleGeometry(1, 48).rotateX(-Math.PI / 2);
    this.grid = new THREE.Mesh(disc, new THREE.ShaderMaterial({
      vertexShader: vertex, fragmentShader: fragment, transparent: true, depthWrite: false,
      uniforms: { colour: { value: new THREE.Color() }, centre: { value: new THREE.Vector2() }, cell: { value: 1 }, radius: { value: 10 } },
    }));
    this.shadow = new THREE.Mesh(disc, new THREE.ShadowMaterial({ opacity: 0.4, transparent: true, depthWrite: false }));
    this.shadow.receiveShadow = true;
    this.grid.renderOrder = -1; // below the characters that are see-through
    this.shadow.renderOrder = -2;
    this.add(this.grid, this.shadow);
  }

  /** Around a group of that size, metres. */
  fit(centre: THREE.Vector3, size: number): void {
    const u = this.grid.material.uniforms, radius = size * GRID_REACH;
    u.centre!.value.set(centre.x, centre.z);
    u.radius!.value = radius;
    const cell = 10 ** Math.floor(Math.log10(size * 0.9)) * 0.5;
    u.cell!.value = cell;
    this.lines?.scale.setScalar(cell);
    this.lines?.position.set(Math.round(centre.x / cell) * cell, 0, Math.round(centre.z / cell) * cell);
    this.grid.scale.setScalar(radius);
    this.grid.position.set(centre.x, 0, centre.z);
    this.shadow.scale.setScalar(size * SHADOW_REACH); // no further: each of its pixels costs
    this.shadow.position.set(centre.x, -size * 1e-4, centre.z);
  }

  /** Plain lines in place of the shader, for machines that draw in software. */
  simplify(): void {
    this.grid.visible = false;
    this.lines = new THREE.LineSegments(new THREE.BufferGeometry(),
      new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false }));
    const points: number[] = [], colours: number[] = [];
    for (let i = -LINES; i <= LINES; i++) {
      const alpha = (i % 5 ? 0.12 : 0.3) * (1 - Math.abs(i) / LINES);
      for (const [x, z] of [[i, -LINES], [i, 0], [i, 0], [i, LINES], [-LINES, i], [0, i], [0, i], [LINES, i]] as const) {
        points.push(x, 0, z);
        colours.push(1, 1, 1, Math.abs(x) === LINES || Math.abs(z) === LINES ? 0 : alpha);
      }
    }
    this.lines.geometry.setAttribute('position', new THREE.Float32BufferAttribute(points, 3));
    this.lines.geometry.setAttribute('color', new THREE.Float32BufferAttribute(colours, 4));
    this.lines.renderOrder = -1;
    this.add(this.lines);
  }

  colours(line: string, shadow: string, opacity: number): void {
    this.grid.material.uniforms.colour!.value.set(line);
    this.lines?.material.color.set(line);
    this.shadow.material.color.set(shadow);
    this.shadow.material.opacity = opacity;
  }
}
