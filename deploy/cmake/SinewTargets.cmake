# Flags, packages and the helpers that every folder's CMakeLists.txt uses.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv>=1.44)
pkg_check_modules(CJSON REQUIRED IMPORTED_TARGET libcjson)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(LO REQUIRED IMPORTED_TARGET liblo>=0.31)
find_package(meshoptimizer CONFIG REQUIRED)
find_package(MbedTLS REQUIRED)
find_package(llhttp REQUIRED)

add_library(build_flags INTERFACE)
target_compile_definitions(build_flags INTERFACE _XOPEN_SOURCE=700
  $<$<BOOL:${SINEW_DCHECK}>:ENABLE_DCHECK> SINEW_VERSION="${PROJECT_VERSION}")
target_include_directories(build_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
  -Wundef -Wcast-qual -Wdouble-promotion -Wimplicit-fallthrough -ffp-contract=off
  $<$<BOOL:${SINEW_WERROR}>:-Werror>)
foreach(s IN LISTS SINEW_SANITIZE)
  add_compile_options(-fsanitize=${s} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${s})
endforeach()
if(SINEW_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
if(SINEW_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()

# What uses the loop: uv.h needs _GNU_SOURCE under strict C17.
add_library(loop_flags INTERFACE)
target_compile_definitions(loop_flags INTERFACE _GNU_SOURCE)
target_link_libraries(loop_flags INTERFACE PkgConfig::UV Threads::Threads)

# One target a folder, named by its path: server/model is sinew_server_model. What it may link is
# what the layer rule lets it include.
function(sinew_folder name)
  cmake_parse_arguments(F "" "" "SOURCES;LINK" ${ARGN})
  add_library(sinew_${name} STATIC ${F_SOURCES})
  target_link_libraries(sinew_${name} PUBLIC build_flags ${F_LINK} m)
  set_target_properties(sinew_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# A kernel in a file of its own, compiled for one instruction set: sinew_kernel(file.c avx2).
# Left out where the compiler targets another machine; common/simd picks at run time.
function(sinew_kernel target file level)
  if(level STREQUAL "avx2" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(flags -mavx2 -mfma)
  elseif(level STREQUAL "avx512" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(flags -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mprefer-vector-width=512)
  elseif(level STREQUAL "neon" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(flags "")
  else()
    return()
  endif()
  target_sources(${target} PRIVATE ${file})
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}")
endfunction()

# tests/<folder>/test_<name>.c; exit 77 means skipped (its line says why).
function(sinew_unit_test name)
  cmake_parse_arguments(T "" "" "LINK;SOURCES" ${ARGN})
  add_executable(test_${name} test_${name}.c ${T_SOURCES})
  target_link_libraries(test_${name} PRIVATE build_flags ${T_LINK} m)
  add_test(NAME unit.${name} COMMAND test_${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
endfunction()

# tests/fuzz/fuzz_<name>.c, seeds in tests/fuzz/corpus/<name>/
function(sinew_fuzz name)
  cmake_parse_arguments(T "" "" "LINK;SOURCES" ${ARGN})
  if(NOT SINEW_FUZZ)
    return()
  endif()
  add_executable(fuzz_${name} fuzz_${name}.c ${T_SOURCES})
  target_link_libraries(fuzz_${name} PRIVATE build_flags ${T_LINK} m)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# tests/bench/bench_<name>.c
function(sinew_bench name)
  cmake_parse_arguments(T "" "" "LINK;SOURCES" ${ARGN})
  add_executable(bench_${name} bench_${name}.c ${T_SOURCES})
  target_link_libraries(bench_${name} PRIVATE build_flags ${T_LINK} m)
endfunction()
