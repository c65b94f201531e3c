from ._place import main

main()
