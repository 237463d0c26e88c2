// A baked clip in a real page: three.js plays the GLB alone in Chromium, and the vertices it shows
// are compared with the point cache of the model, played from another GLB beside it.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'

const modules = process.env.SINEW_WEB_MODULES
const { chromium } = createRequire(path.join(modules, 'x.js'))('playwright-core')
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sinew-baked-'))
const sinew = (...words) => execFileSync(process.env.SINEW_COMMAND, words, { cwd: folder })

const html = `<script type="importmap">{"imports": {"three": "/three/build/three.module.js",
"three/addons/": "/three/examples/jsm/"}}</script><script type="module">
import * as THREE from 'three'
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js'
const files = await Promise.all(['/baked.glb', '/cache.glb'].map(f => new GLTFLoader().loadAsync(f)))
const renderer = new THREE.WebGLRenderer({ preserveDrawingBuffer: true })
renderer.setSize(200, 200)
document.body.append(renderer.domElement)
const size = new THREE.Box3().setFromObject(files[0].scene).getSize(new THREE.Vector3()).length()
const mixers = files.map(f => new THREE.AnimationMixer(f.scene))
files.forEach((f, i) => mixers[i].clipAction(f.animations[0]).play())
const camera = new THREE.PerspectiveCamera(40, 1, size / 100, 10 * size)
camera.position.set(0, 0, 2 * size)
const scene = new THREE.Scene()
scene.add(files[0].scene, new THREE.HemisphereLight(0xffffff, 0x444444, 2))
window.compare = time => {
    const positions = files.map((f, i) => {
        mixers[i].setTime(time)
        let mesh
        f.scene.traverse(o => { if (o.isMesh) mesh = o })
        return Array.from({ length: mesh.geometry.attributes.position.count },
            (_, v) => mesh.getVertexPosition(v, new THREE.Vector3()))
    })
    renderer.render(scene, camera)
    const off = positions[0].map((p, v) => p.distanceTo(positions[1][v]) / size)
    const moved = positions[0].map((p, v) => p.distanceTo(new THREE.Vector3().fromBufferAttribute(
        (() => { let m; files[0].scene.traverse(o => { if (o.isMesh) m = o }); return m })()
            .geometry.attributes.position, v)) / size)
    return { worst: Math.max(...off), moved: Math.max(...moved) }
}
window.ready = true
</script>`

let failed = 0
const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
        '--disable-background-networking'],
})
try {
    sinew('sample', 'hand', '--vertices', '1000', '--out', 'hand')
    sinew('bake', 'hand', '--samples', '400', '--max-targets', '20', '--curves', 'hand/clip.csv',
        '--out', 'rig.glb', '--clip-out', 'baked.glb')
    sinew('blend', 'hand', '--model', 'rotation', '--curves', 'hand/clip.csv', '--out', 'cache.pc2')
    sinew('convert', 'cache.pc2', '--mesh', 'hand/neutral.obj', 'cache.glb')
    const page = await browser.newPage()
    page.on('pageerror', error => { console.log(error.message); failed = 1 })
    await page.route('**/*', route => {
        const name = new URL(route.request().url()).pathname
        const file = path.join(name.startsWith('/three/') ? modules : folder, name)
        if (name === '/') return route.fulfill({ contentType: 'text/html', body: html })
        if (!fs.existsSync(file)) return route.fulfill({ status: 404, body: '' })
        return route.fulfill({
            contentType: file.endsWith('.js') ? 'text/javascript' : 'application/octet-stream',
            body: fs.readFileSync(file),
        })
    })
    await page.goto('http://page.test/')
    await page.waitForFunction('window.ready', null, { timeout: 120000 })
    for (const time of [1, 2.5, 4, 5.5]) {
        const { worst, moved } = await page.evaluate(t => window.compare(t), time)
        if (!(worst < 0.01) || !(moved > 0.05)) {
            console.log(`at ${time} s a vertex is ${worst} of the size off, and moves by ${moved}`)
            failed = 1
        }
    }
} catch (error) {
    console.log(error.message)
    failed = 1
}
await browser.close()
fs.rmSync(folder, { recursive: true })
console.log(failed ? '[  FAILED  ] 1 test(s).' : '[  PASSED  ] 1 test(s).')
process.exit(failed)
