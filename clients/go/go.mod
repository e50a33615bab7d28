module tidings.example/tidings

go 1.19
