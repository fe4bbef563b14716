echo "$LINENO ${BASH_SOURCE[0]} ${#BASH_SOURCE[@]} ${FUNCNAME[0]}"
h() {
  echo "$LINENO ${BASH_SOURCE[@]} ${FUNCNAME[@]}"
  [ -n "$1" ] || return 3
}
h
return 5
