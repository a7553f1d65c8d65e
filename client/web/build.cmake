# Packages, then the bundle. Missing packages are a line, not an end: the server runs without.
execute_process(COMMAND ${NODE} ${WEB}/prepare.mjs RESULT_VARIABLE prepared)
if(NOT prepared EQUAL 0)
  message("viewer: not built; the server will say so on its page. Build again with a network.")
  return() # no stamp: the next build tries again
endif()
execute_process(COMMAND ${NODE} ${WEB}/build.mjs ${DIST} RESULT_VARIABLE built)
if(NOT built EQUAL 0)
  message(FATAL_ERROR "the viewer does not bundle")
endif()
file(TOUCH ${STAMP})
