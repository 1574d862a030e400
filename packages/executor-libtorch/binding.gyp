{
  "variables": {
    # Set by native/setup.mjs; by themselves: the system's LibTorch, without CUDA.
    "torch_prefix%": "<!(node -p \"process.env.TORCH_PREFIX || ''\")",
    "cxx_std%": "<!(node -p \"process.env.SLICE_CXX_STD || 'c++17'\")",
    "cxx11_abi%": "<!(node -p \"process.env.TORCH_CXX11_ABI || '1'\")",
    "with_cuda%": "<!(node -p \"process.env.WITH_CUDA === '1' ? 1 : 0\")",
    "cuda_home%": "<!(node -p \"process.env.CUDA_HOME || '/usr/local/cuda'\")",
    "napi_include%": "<!(node -p \"process.env.NODE_ADDON_API || require('node-addon-api').include_dir\")"
  },
  "targets": [
    {
      "target_name": "slice",
      "sources": [
        "<!@(node -p \"require('fs').readdirSync('native').filter((it) => it.endsWith('.cc') && !it.startsWith('device_cuda')).map((it) => 'native/' + it).join(' ')\")"
      ],
      "include_dirs": ["<(napi_include)"],
      "defines": ["NAPI_CPP_EXCEPTIONS", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS", "NAPI_VERSION=8", "_GLIBCXX_USE_CXX11_ABI=<(cxx11_abi)"],
      "cflags_cc!": ["-fno-exceptions", "-fno-rtti", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": ["-std=<(cxx_std)", "-fexceptions", "-frtti", "-Wno-unused-parameter", "-fvisibility=hidden"],
      "cflags!": ["-O3"],
      "cflags": ["-O2", "-g0"],
      "libraries": ["-ltorch", "-ltorch_cpu", "-lc10"],
      "conditions": [
        [
          "torch_prefix == ''",
          { "include_dirs": ["/usr/include/torch/csrc/api/include"] },
          {
            "include_dirs": ["<(torch_prefix)/include", "<(torch_prefix)/include/torch/csrc/api/include"],
            "libraries": ["-L<(torch_prefix)/lib", "-Wl,-rpath,<(torch_prefix)/lib"]
          }
        ],
        [
          "with_cuda == 1",
          {
            "sources": ["native/device_cuda.cc"],
            "defines": ["WITH_CUDA"],
            "include_dirs": ["<(cuda_home)/include"],
            "libraries": ["-L<(cuda_home)/lib64", "-ltorch_cuda", "-lc10_cuda", "-lcudart"]
          },
          { "sources": ["native/device_cuda_none.cc"] }
        ]
      ]
    }
  ]
}
